/** Whether a variable by this name is likely to hold a secret. */
export const looksSecretName = (name: string): boolean =>
  /TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH(?!ORS?(_|$))/i.test(name);

/** Whether a header by this name is likely to hold a secret. */
export const looksSecretHeader = (name: string): boolean =>
  looksSecretName(name) || /cookie|session|signature/i.test(name);

/** Variables every program of the user has: to hide them would hide every path, and to keep them from agents would break those. */
export const isOrdinaryVariable = (name: string): boolean =>
  /^(HOME|PATH|PWD|USER|LOGNAME|SHELL|TMPDIR|TERM|TZ|LANG|LANGUAGE|LC_[A-Z]+|XDG_[A-Z_]+)$/.test(name);
