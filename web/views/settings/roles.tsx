import type { Output } from '../../../src/operations/operations.ts';
import { Empty } from '../../ui/empty.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Plain } from '../../ui/plain.tsx';

type Inspected = Output<'inspect_workspace'>;

/** Every role, with what is wrong with it. */
export function Roles({ roles, folder }: { roles: Inspected['roles']; folder: Inspected['rolesFolder'] }) {
  return (
    <section class="page-part">
      <h2>Roles</h2>
      <p class="soft">
        From <code>{folder.folder}</code>: <Plain text={folder.reason} isBlock={false} />
      </p>
      {roles.length === 0 ? (
        <Empty title="No roles here" command="squad init">
          A role is a Markdown file; <code>squad init</code> creates the built-in ones for you to edit.
        </Empty>
      ) : (
        <table class="sheet">
          <thead>
            <tr>
              <th scope="col">role</th>
              <th scope="col">state</th>
              <th scope="col">description</th>
            </tr>
          </thead>
          <tbody>
            {roles.map(({ id, name, description, file, fault, warnings }) => (
              <tr key={file}>
                <td>
                  <b>{id}</b>
                  {name !== id && (
                    <span class="soft">
                      {' '}
                      <Plain text={name} isBlock={false} />
                    </span>
                  )}
                </td>
                <td>
                  <span
                    class={`status ${fault ? 'tone-bad' : warnings.length > 0 ? 'tone-ask' : 'tone-good'}`}
                  >
                    <Icon name={fault ? 'cross' : warnings.length > 0 ? 'warn' : 'check'} />
                    {fault ? 'invalid' : warnings.length > 0 ? 'has warnings' : 'ok'}
                  </span>
                </td>
                <td class="wide">
                  {[fault, ...warnings]
                    .filter(text => text !== null)
                    .map(text => (
                      <p key={text} class={text === fault ? 'tone-bad' : 'soft'}>
                        <Plain text={text} isBlock={false} />
                      </p>
                    ))}
                  <Plain text={description} isBlock={false} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
