"""Access: authentication, impersonation and RBAC."""
