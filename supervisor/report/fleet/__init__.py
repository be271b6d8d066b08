"""The report over a site's jobs: sums over histories, figures from sums, and the texts of figures. All pure."""
