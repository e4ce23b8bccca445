"""Who makes a request, and whether they may: authentication, impersonation and RBAC."""
