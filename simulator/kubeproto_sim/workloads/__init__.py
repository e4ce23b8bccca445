"""The controllers that create objects from others: pods from Deployments, Jobs from CronJobs, and so on."""
