/** The id under which calls of the master key are counted. Its organization is that of ADMIN_EMAIL, so it may change. */
export const MASTER_KEY_ID = "key_master";
