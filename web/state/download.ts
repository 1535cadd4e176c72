import { ticket } from './api.ts';

type Wish = Exclude<Parameters<typeof ticket>[0], { purpose: 'live' }>;

/** Starts a browser download. Throws if the hub refuses it. */
export async function download(wish: Wish): Promise<void> {
  const one = await ticket(wish);
  const link = document.createElement('a');
  link.href = `/api/download?ticket=${encodeURIComponent(one)}`;
  link.download = '';
  link.click();
}
