"""The store as XML documents, and XPath over them."""
