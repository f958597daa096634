"""Files to synthetic text under a central guarantee: one exact release of counts."""
