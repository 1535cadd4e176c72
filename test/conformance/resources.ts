import type { Face } from '../../src/wire/face/face.ts';
import { PNG } from './content.ts';

export const resources: NonNullable<Face['resources']> = {
  watchable: true,
  list: async () => [
    { uri: 'test://static-text', name: 'static-text', description: 'Text', mimeType: 'text/plain' },
    { uri: 'test://static-binary', name: 'static-binary', description: 'An image', mimeType: 'image/png' },
    { uri: 'test://watched-resource', name: 'watched', description: 'Watched', mimeType: 'text/plain' },
  ],
  templates: async () => [
    {
      uriTemplate: 'test://template/{id}/data',
      name: 'template',
      description: 'By id',
      mimeType: 'application/json',
    },
  ],
  read: async uri => {
    const contents = contentsOf(uri);
    return contents && { contents: [{ uri, ...contents }] };
  },
};

type Contents = { mimeType: string } & ({ text: string } | { blob: string });

function contentsOf(uri: string): Contents | null {
  switch (uri) {
    case 'test://static-text':
      return { mimeType: 'text/plain', text: 'This is the content of the static text resource.' };
    case 'test://static-binary':
      return { mimeType: 'image/png', blob: PNG };
    case 'test://watched-resource':
      return { mimeType: 'text/plain', text: 'Watched.' };
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return null;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { mimeType: 'application/json', text: JSON.stringify(data) };
}
