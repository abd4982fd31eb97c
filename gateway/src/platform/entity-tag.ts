/** Whether a reader's `If-None-Match` names this tag; whether either is weak makes no difference to that. */
export const isKnownTag = (header: string | undefined, etag: string): boolean => {
  const plain = (tag: string) => tag.trim().replace(/^W\//, '')
  return (
    header !== undefined &&
    header.split(',').some((each) => plain(each) === '*' || plain(each) === plain(etag))
  )
}
