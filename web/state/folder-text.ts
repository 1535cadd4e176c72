/** Rewrites hub errors about the Squad-Workspace header: the user chose a folder and knows nothing of a header. */
export const withFolderNames = (message: string): string =>
  message
    .replace(/^The workspace (.*) \(from the Squad-Workspace header\) /s, 'Folder $1 ')
    .replace(/^The Squad-Workspace header /, 'Folder ');

export const withoutHeaderHints = (suggestions: readonly string[]): string[] =>
  suggestions.map(text => (text.includes('Squad-Workspace') ? 'Choose another folder.' : text));
