/** What is wrong with it before anybody is asked; null: nothing that can be seen here. */
export function folderTrouble(folder: string): string | null {
  if (folder === '') return 'Folder is missing: the whole path of a project.';
  if (/^(\/|[A-Za-z]:[\\/]|\\\\)/.test(folder)) return null;
  return 'Folder must be an absolute path, like /home/me/project.';
}

/** What the hub says of a header, for somebody who filled in a field. */
export const inFieldWords = (message: string): string =>
  message
    .replace(/^The workspace (.*) \(from the Squad-Workspace header\) /s, 'Folder $1 ')
    .replace(/^The Squad-Workspace header /, 'Folder ');
