"""Version control besides git itself: forges and other systems."""
