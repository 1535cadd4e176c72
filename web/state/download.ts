import { ticket } from './api.ts';

type Wish = Exclude<Parameters<typeof ticket>[0], { purpose: 'live' }>;

/** The browser saves it, however large, and shows how far it is. Throws why the hub gives it to nobody. */
export async function download(wish: Wish): Promise<void> {
  const one = await ticket(wish);
  const link = document.createElement('a');
  link.href = `/api/download?ticket=${encodeURIComponent(one)}`;
  link.download = '';
  link.click();
}
