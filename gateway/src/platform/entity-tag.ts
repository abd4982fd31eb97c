/** Whether `If-None-Match` names this tag. The comparison is weak, as RFC 9110 requires. */
export const isKnownTag = (header: string | undefined, etag: string): boolean => {
  const plain = (tag: string) => tag.trim().replace(/^W\//, '')
  return (
    header !== undefined &&
    header.split(',').some((each) => plain(each) === '*' || plain(each) === plain(etag))
  )
}
