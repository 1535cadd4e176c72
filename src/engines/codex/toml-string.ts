/** A TOML basic string. JSON's escapes are all TOML's too; TOML also wants DEL escaped, and has no lone surrogates. */
export const tomlString = (value: string): string =>
  JSON.stringify(value.toWellFormed()).replaceAll('\u007f', '\\u007f');
