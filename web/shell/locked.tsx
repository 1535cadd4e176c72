import { Copy } from '../ui/copy.tsx';

/** The files of the page are anybody's; what the hub knows is the user's. */
export function Locked() {
  return (
    <main class="locked">
      <h1>Squad</h1>
      <p>This tab has no key to the hub. Open the page from a terminal:</p>
      <p>
        <Copy text="squad open" label="command" isShown />
      </p>
      <p class="soft">
        The address it opens carries a key that works once, within 10 minutes. The tab then works until the
        hub stops, or until an hour after you closed it. Other tabs of the same address get in through it.
      </p>
    </main>
  );
}
