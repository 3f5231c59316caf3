"""Operations for administrators: maintenance, conversion, export and import, erasing authors."""
