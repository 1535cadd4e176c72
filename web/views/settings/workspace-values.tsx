import type { Output } from '../../../src/operations/operations.ts';
import { Plain } from '../../ui/plain.tsx';
import { valueWords } from './setting-words.ts';

/** What is in force in a folder, and the one place each value came from. */
export function WorkspaceValues({ settings }: { settings: Output<'inspect_workspace'>['settings'] }) {
  return (
    <section class="page-part">
      <h2>This folder</h2>
      <table class="sheet">
        <thead>
          <tr>
            <th scope="col">key</th>
            <th scope="col">value</th>
            <th scope="col">from</th>
          </tr>
        </thead>
        <tbody>
          {settings.map(({ key, value, origin, source }) => (
            <tr key={key}>
              <td>
                <code>{key}</code>
              </td>
              <td class="wide">
                <Plain text={valueWords(value)} isBlock={false} />
              </td>
              <td class="soft">
                {origin}
                {origin !== 'default' && (
                  <>
                    {' · '}
                    <code>{source}</code>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
