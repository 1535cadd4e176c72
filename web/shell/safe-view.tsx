import { Component, type ComponentChildren } from 'preact';
import { visibleText } from '../../src/base/text.ts';
import { ApiError } from '../state/api.ts';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';

interface SafeViewProps {
  /** Current address; a new address resets the error. */
  url: string;
  children: ComponentChildren;
}

/** Error boundary around one view. */
export class SafeView extends Component<SafeViewProps, { broken: unknown; url: string }> {
  override state = { broken: null as unknown, url: this.props.url };

  static override getDerivedStateFromProps({ url }: SafeViewProps, before: { url: string }) {
    return url === before.url ? null : { broken: null, url };
  }

  override componentDidCatch(thrown: unknown): void {
    this.setState({ broken: thrown });
    if (!isUnreadable(thrown)) reportError(thrown);
  }

  override render({ url, children }: SafeViewProps) {
    const { broken } = this.state;
    if (broken === null) return children;
    if (isUnreadable(broken))
      return (
        <>
          <h1 class="unseen">Not found</h1>
          <Empty title="Invalid address">
            <code>{visibleText(url)}</code> contains an invalid percent escape. Part of the address may be
            missing.
            <p>
              <a href="/">All runs</a>
            </p>
          </Empty>
        </>
      );
    return (
      <>
        <h1 class="unseen">Error</h1>
        <Problem
          error={
            new ApiError(
              'PAGE_ERROR',
              `This view failed: ${broken instanceof Error ? broken.message : broken}`,
              ['Other views still work, and agents are not affected.'],
            )
          }
          onRetry={() => this.setState({ broken: null })}
        />
        <p>
          <a href="/">All runs</a>
        </p>
      </>
    );
  }
}

const isUnreadable = (thrown: unknown): boolean => thrown instanceof URIError;
