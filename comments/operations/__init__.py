"""Operations for administrators: maintain, convert, export and import discussions, and erase authors' data."""
