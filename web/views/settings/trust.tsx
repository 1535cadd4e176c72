import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { Copy } from '../../ui/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Plain } from '../../ui/plain.tsx';

type Inspected = Output<'inspect_workspace'>;

interface TrustProps {
  untrusted: Inspected['untrusted'];
  ignored: Inspected['ignored'];
  workspace: string;
}

/** Which files wait for the user's word, and what it means. Given in a terminal only, which shows the file first. */
export function Trust({ untrusted, ignored, workspace }: TrustProps) {
  const at = `--workspace ${shellWord(workspace)}`;
  return (
    <section class="page-part">
      <h2>Trust</h2>
      <p class="soft">
        A file that came with a repository can name programs to run. Squad leaves such lines out until you
        trust the file with exactly this content; a change of it asks again. Trust is given in a terminal,
        which shows you the file first.
      </p>
      {untrusted.length === 0 ? (
        <p>
          <Icon name="check" class="tone-good" /> Nothing here waits for your trust.
        </p>
      ) : (
        <ul class="trust-files">
          {untrusted.map(file => (
            <li key={file}>
              <span class="status tone-ask">
                <Icon name="warn" />
                not trusted
              </span>{' '}
              <code>{file}</code>{' '}
              <Copy
                text={`squad trust ${shellWord(file)} ${at}`}
                label="command that shows and trusts it"
                isShown
              />
            </li>
          ))}
        </ul>
      )}
      {ignored.length > 0 && (
        <ul class="soft">
          {ignored.map(({ file, key, reason }) => (
            <li key={`${file} ${key}`}>
              <code>{key}</code> of <code>{file}</code> is left out: <Plain text={reason} isBlock={false} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
