/** Whether a variable by this name is likely to hold a secret. */
export const looksSecretName = (name: string): boolean =>
  /TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH/i.test(name);

/** Whether a header by this name is likely to hold a secret. */
export const looksSecretHeader = (name: string): boolean =>
  looksSecretName(name) || /cookie|session|signature/i.test(name);
