"""Files to synthetic text under a central guarantee: public cells, one exact release of counts, and what is written from them."""
