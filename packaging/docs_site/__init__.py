"""The site of documents, as HTML: the pages of this repository, and pages that are made from the code."""
