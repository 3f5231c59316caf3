"""Discussions under any object, kept in one of three MongoDB schemas behind one contract."""
