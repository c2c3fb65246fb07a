const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'disk quota exceeded',
  EADDRINUSE: 'in use',
  EADDRNOTAVAIL: 'not an address of this machine',
  ENOTFOUND: 'no such host',
  EFBIG: 'the file would be too large',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EIO: 'the disk reports an error',
  ESTALE: 'the network share has lost it',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files',
  EROFS: 'the disk is read-only',
  ENOENT: 'no such folder',
  ENOTDIR: 'a part of the path is a file',
  ELOOP: 'too many levels of symbolic links',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'the name is too long',
}

/** The reason for a system error, in plain words. */
export function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return reasons[code] ?? message
}
