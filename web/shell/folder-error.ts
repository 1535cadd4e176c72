/** Checks a folder before the request to the hub. Null if no error was found. */
export function folderError(folder: string): string | null {
  if (folder === '') return 'Enter the absolute path of a project folder.';
  if (/^(\/|[A-Za-z]:[\\/]|\\\\)/.test(folder)) return null;
  return 'Folder must be an absolute path, like /home/me/project.';
}
