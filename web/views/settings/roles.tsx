import type { Output } from '../../../src/operations/operations.ts';
import { Empty } from '../../ui/empty.tsx';
import { Section, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { StatusMark } from '../../ui/status.tsx';
import type { StatusStyle } from '../../ui/status-style.ts';

type Inspected = Output<'inspect_workspace'>;

const OK: StatusStyle = { word: 'ok', icon: 'check', tone: 'good' };
const WARNING: StatusStyle = { word: 'has warnings', icon: 'warn', tone: 'ask' };
const INVALID: StatusStyle = { word: 'invalid', icon: 'cross', tone: 'bad' };

/** Every role with its errors and warnings. */
export function Roles({ roles, folder }: { roles: Inspected['roles']; folder: Inspected['rolesFolder'] }) {
  return (
    <Section title="Roles">
      <p class="soft">
        From <code>{folder.folder}</code>: <PlainLine text={folder.reason} />
      </p>
      {roles.length === 0 ? (
        <Empty title="No roles here" command="squad init">
          A role is a Markdown file; <code>squad init</code> creates the built-in ones for you to edit.
        </Empty>
      ) : (
        <Sheet columns={['role', 'state', 'description']}>
          {roles.map(({ id, name, description, file, fault, warnings }) => (
            <tr key={file}>
              <td>
                <b>{id}</b>
                {name !== id && (
                  <span class="soft">
                    {' '}
                    <PlainLine text={name} />
                  </span>
                )}
              </td>
              <td>
                <StatusMark style={fault ? INVALID : warnings.length > 0 ? WARNING : OK} />
              </td>
              <td class="wide">
                {[fault, ...warnings]
                  .filter(text => text !== null)
                  .map(text => (
                    <p key={text} class={text === fault ? 'tone-bad' : 'soft'}>
                      <PlainLine text={text} />
                    </p>
                  ))}
                <PlainLine text={description} />
              </td>
            </tr>
          ))}
        </Sheet>
      )}
    </Section>
  );
}
