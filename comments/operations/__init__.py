"""Operations for administrators: maintenance, conversion, export and import, and erasing authors."""
