"""The kit's installer, which is in the kit as the package ``installer``. It needs Python alone, and imports nothing of
ours but itself."""
