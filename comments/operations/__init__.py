"""Operations for administrators: maintenance, conversion, export, import, and the erasure of authors' data."""
