"""What an earlier run may have left, and its removal."""
