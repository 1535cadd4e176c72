/** What is wrong with it before anybody is asked; null: nothing that can be seen here. */
export function folderError(folder: string): string | null {
  if (folder === '') return 'Folder is missing: the whole path of a project.';
  if (/^(\/|[A-Za-z]:[\\/]|\\\\)/.test(folder)) return null;
  return 'Folder must be an absolute path, like /home/me/project.';
}
