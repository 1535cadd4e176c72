import { useState } from 'preact/hooks';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { call } from '../../state/api.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';

/** Form that adds a machine. Squad connects to it before it is added. */
export function AddMachine({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('');
  const [address, setAddress] = useState('');
  const [label, setLabel] = useState('');
  const [slots, setSlots] = useState('');
  const labels = label.split(/\s+/).filter(Boolean);
  const words = [
    `squad machines add ${shellWord(name.trim() || 'NAME')} ${shellWord(address.trim() || 'USER@HOST')}`,
    ...labels.map(each => `--label ${shellWord(each)}`),
    ...(slots === '' ? [] : [`--slots ${slots}`]),
  ];
  const add = async () => {
    const { machine } = await call('add_machine', {
      ...{ name: name.trim(), address: address.trim() },
      labels: Object.fromEntries(labels.map(pairOf)),
      slots: slots === '' ? null : Number(slots),
    });
    toast(`${machine.name} is ready.`);
  };
  return (
    <Confirm
      title="Add a machine"
      effect="Squad logs in with your ssh configuration, copies its runner to ~/.squad-runner there, and looks for agent CLIs. The machine needs sshd, Node and git."
      command={words.join(' ')}
      yes="Add"
      tone="main"
      onYes={add}
      onClose={onClose}
    >
      <Field text="Name" value={name} onInput={setName} isRequired />
      <Field
        text="Address: USER@HOST, or a name of your ssh configuration"
        value={address}
        onInput={setAddress}
        isRequired
      />
      <Field text="Labels, such as gpu=yes (optional)" value={label} onInput={setLabel} />
      <label class="machine-field">
        Runs at once (empty for one per processor)
        <input
          type="number"
          min={1}
          max={1000}
          value={slots}
          onInput={event => setSlots(event.currentTarget.value)}
        />
      </label>
    </Confirm>
  );
}

interface FieldProps {
  text: string;
  value: string;
  onInput(value: string): void;
  isRequired?: boolean;
}

function Field({ text, value, onInput, isRequired = false }: FieldProps) {
  return (
    <label class="machine-field">
      {text}
      <input
        type="text"
        value={value}
        required={isRequired}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={event => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** The hub refuses a label without a value. */
function pairOf(label: string): [string, string] {
  const at = label.indexOf('=');
  return at < 0 ? [label, ''] : [label.slice(0, at), label.slice(at + 1)];
}
