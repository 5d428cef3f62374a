"""Offers to files to answers. Knows nothing of Scrapy or Prefect."""
