/** Says in words how many calls of a program are not told one by one. */
export function moreCalls({ calls, failed }: { calls: number; failed: number }): string {
  const words = calls === 1 ? '1 more call' : `${calls} more calls`;
  return failed === 0 ? words : `${words}, ${failed} failed`;
}
