/** What the hub says of a header, for somebody who chose a folder or filled in a field: nobody at the page has sent one. */
export const inFolderWords = (message: string): string =>
  message
    .replace(/^The workspace (.*) \(from the Squad-Workspace header\) /s, 'Folder $1 ')
    .replace(/^The Squad-Workspace header /, 'Folder ');

export const withoutHeader = (suggestions: readonly string[]): string[] =>
  suggestions.map(text => (text.includes('Squad-Workspace') ? 'Choose another folder.' : text));
