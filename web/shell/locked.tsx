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
        The address it opens carries the key. It is taken out of the address at once and kept for this tab;
        another tab of this page that is open gives it on.
      </p>
    </main>
  );
}
