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
        The address it opens carries a key that is good once, for 10 minutes. This tab then stays open to you;
        another tab of this page that is open lets new ones in.
      </p>
    </main>
  );
}
