import { visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { useQuery } from '../../state/query.ts';
import { Problem } from '../../ui/problem.tsx';

/** Binary files that the hub can show as images. */
export const isImage = (path: string): boolean => /\.(png|jpe?g|gif)$/i.test(path);

/** An image before and after the run. Loaded when the file is opened. */
export function ImageVersions({ run, path }: { run: string; path: string }) {
  const { data, error, reload } = useQuery('changed_image', { run, path });
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  return (
    <div class="image-versions">
      <Version name="before" path={path} version={data?.before} />
      <Version name="after" path={path} version={data?.after} />
    </div>
  );
}

interface VersionProps {
  name: 'before' | 'after';
  path: string;
  version: Output<'changed_image'>['before'] | undefined;
}

function Version({ name, path, version }: VersionProps) {
  if (version === null) return null;
  return (
    <figure>
      <figcaption class="soft">
        {name}
        {version && ` · ${sizeOf(version)}`}
      </figcaption>
      {version?.url && <img src={version.url} alt={`${visibleText(path)} ${name}`} />}
      {version && !version.url && <p class="soft">Too large to show, or not an image.</p>}
    </figure>
  );
}

const sizeOf = ({ bytes, width, height }: NonNullable<VersionProps['version']>): string =>
  [
    ...(width === null || height === null ? [] : [`${width} × ${height}`]),
    `${bytes.toLocaleString()} bytes`,
  ].join(' · ');
