import { ticket } from './api.ts';

type Download = Exclude<Parameters<typeof ticket>[0], { purpose: 'live' }>;

/** Starts a browser download. Throws if the hub refuses it. */
export async function download(request: Download): Promise<void> {
  const one = await ticket(request);
  const link = document.createElement('a');
  link.href = `/api/download?ticket=${encodeURIComponent(one)}`;
  link.download = '';
  link.click();
}
