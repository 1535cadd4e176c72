import { useKeys } from '../../keys.ts';
import { telling, turnOff, turnOn } from '../../state/notifications.ts';
import { Button } from '../../ui/button.tsx';

const WORDS = {
  none: 'This browser has no notifications.',
  blocked: 'Your browser holds them back for this address. Its settings for the site change that.',
  off: 'Off. A page that is open but not in front can tell you when an agent needs you or a run fails.',
  on: 'On, in this browser: a page that is open but not in front tells you when an agent needs you or a run fails.',
} as const;

export function Notifications() {
  const now = telling.value;
  const canChange = now === 'on' || now === 'off';
  const change = () => (now === 'on' ? turnOff() : void turnOn());
  useKeys([{ key: 'o', what: 'Notifications on or off', run: change, when: () => canChange }]);
  return (
    <section class="page-part notifications">
      <h2>Notifications</h2>
      <p>{WORDS[now]}</p>
      {canChange && (
        <Button onClick={change} keyName="o" isPressed={now === 'on'}>
          {now === 'on' ? 'Turn notifications off' : 'Turn notifications on'}
        </Button>
      )}
      <p class="soft">
        Without a page: a program of yours named by <code>onAsk</code> or <code>onEnd</code> in your
        configuration is run when an agent asks or a run has ended.
      </p>
    </section>
  );
}
