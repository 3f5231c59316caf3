"""Operations that post, change, import and erase comments, and the operations of the moderation queue."""
