import { useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { call } from '../../state/api.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { describeSetting, valueWords } from './setting-text.ts';

type Limit = Output<'inspect_workspace'>['limits'][number];

/** The hub's own settings: one fuse for everything, whoever asks. */
export function Limits({ limits, onChanged }: { limits: readonly Limit[]; onChanged(): void }) {
  const [changing, setChanging] = useState<Limit | null>(null);
  const [chosen, setChosen] = useState(0);
  const current = limits[chosen];
  useKeys([
    {
      key: 'j',
      what: 'Next setting',
      repeats: true,
      run: () => setChosen(Math.min(chosen + 1, limits.length - 1)),
    },
    { key: 'k', what: 'Previous setting', repeats: true, run: () => setChosen(Math.max(chosen - 1, 0)) },
    { key: 'e', what: 'Change this setting', run: () => current && setChanging(current) },
  ]);
  return (
    <section class="page-part">
      <h2>Limits and budgets</h2>
      <table class="sheet">
        <thead>
          <tr>
            <th scope="col">setting</th>
            <th scope="col">value</th>
            <th scope="col">from</th>
            <th scope="col">
              <span class="unseen">change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {limits.map(limit => (
            <tr key={limit.key} class={limit === current ? 'current' : ''}>
              <td class="wide">
                <code>{limit.key}</code>
                <p class="soft">{describeSetting(limit.key)}</p>
              </td>
              <td>{valueWords(limit.value)}</td>
              <td class="soft">{limit.origin === 'default' ? 'default' : 'set by you'}</td>
              <td>
                <Button
                  label={`Change ${limit.key}`}
                  keyName={limit === current ? 'e' : undefined}
                  onClick={() => setChanging(limit)}
                >
                  Change
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {changing && (
        <Change limit={changing} onChanged={onChanged} onClose={() => setChanging(null)} key={changing.key} />
      )}
    </section>
  );
}

interface ChangeProps {
  limit: Limit;
  onChanged(): void;
  onClose(): void;
}

/** Empty puts the default back. */
function Change({ limit: { key, value }, onChanged, onClose }: ChangeProps) {
  const before = value === null ? '' : valueWords(value);
  const [typed, setTyped] = useState(before);
  const wanted = typed.trim() === '' ? null : typed.trim();
  const change = async () => {
    const answer = await call('change_setting', { key, value: wanted });
    toast(`${key} is ${valueWords(answer.value)} now.`);
    onChanged();
  };
  return (
    <Confirm
      title={key}
      effect={`${describeSetting(key)} Takes effect at once, for every client. New value: ${wanted ?? 'the default'}.`}
      command={wanted === null ? `squad config unset ${key}` : `squad config set ${key} ${shellWord(wanted)}`}
      yes={wanted === null ? 'Reset to the default' : 'Change'}
      tone="main"
      onYes={change}
      onClose={onClose}
    >
      <label class="settings-field">
        New value (empty for the default)
        <input type="text" value={typed} onInput={event => setTyped(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}
