import { useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { call } from '../../state/api.ts';
import { Button } from '../../ui/button.tsx';
import { useChosen } from '../../ui/chosen.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Section, Sheet } from '../../ui/layout.tsx';
import { toast } from '../../ui/toast.tsx';
import { describeSetting, formatValue } from './setting-text.ts';

type Limit = Output<'inspect_workspace'>['limits'][number];

/** Limits of the hub, for all clients. */
export function Limits({ limits, onChanged }: { limits: readonly Limit[]; onChanged(): void }) {
  const [changing, setChanging] = useState<Limit | null>(null);
  const { current, moves } = useChosen(limits, 'setting');
  useKeys([...moves, { key: 'e', what: 'Change this setting', run: () => current && setChanging(current) }]);
  return (
    <Section title="Limits and budgets">
      <Sheet columns={['setting', 'value', 'from', { name: <span class="unseen">change</span> }]}>
        {limits.map(limit => (
          <tr key={limit.key} class={limit === current ? 'current' : ''}>
            <td class="wide">
              <code>{limit.key}</code>
              <p class="soft">{describeSetting(limit.key)}</p>
            </td>
            <td>{formatValue(limit.value)}</td>
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
      </Sheet>
      {changing && (
        <Change limit={changing} onChanged={onChanged} onClose={() => setChanging(null)} key={changing.key} />
      )}
    </Section>
  );
}

interface ChangeProps {
  limit: Limit;
  onChanged(): void;
  onClose(): void;
}

/** Form that changes a limit. An empty value resets the setting to its default. */
function Change({ limit: { key, value }, onChanged, onClose }: ChangeProps) {
  const before = value === null ? '' : formatValue(value);
  const [typed, setTyped] = useState(before);
  const wanted = typed.trim() === '' ? null : typed.trim();
  const change = async () => {
    const answer = await call('change_setting', { key, value: wanted });
    toast(`${key} is ${formatValue(answer.value)} now.`);
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
