// Types of livefetch.js.

/**
 * JSON. Numbers that JavaScript would round are BigInts and Decimals: within JSON values and of decimal
 * attributes. Other integers beyond ±2^53 are text.
 */
export type Value = string | number | bigint | Decimal | boolean | null | Value[] | { [key: string]: Value };

/** A value as a program may give it. */
export type GivenValue = Value | Date;

/** A number of more digits than a number of JavaScript has, as these digits. */
export class Decimal {
  /** Throws a SyntaxError for what is not a number of JSON. */
  constructor(digits: string);
  readonly digits: string;
  toString(): string;
  /** The digits as text: another program's JSON. In requests of this library it is a number. */
  toJSON(): string;
  [Symbol.toPrimitive](hint: string): string | number;
}
/** A number, or text where it is beyond ±2^53 or the key is text. */
export type ID = number | string;
/** An id as a program may give it. */
export type GivenID = ID | bigint;

export type Shape = 'objects' | 'ids' | 'count' | 'dictionaries';

/** A fetch request of one shape: of objects where none is given. */
export type FetchRequest<S extends Shape = 'objects'> =
  S extends 'objects' ? FetchParameters & { as?: 'objects' } : FetchParameters & { as: S };

export interface FetchParameters {
  entity: string;
  /** A predicate: `population >= 1000000 AND country.continent == 'Europe'`. */
  where?: string;
  /** Values for `%@ %K %ld …`, in order. */
  arguments?: readonly GivenValue[];
  /** Values for `$NAME`. */
  variables?: Record<string, GivenValue>;
  /** Key paths, `-` in front for descending: `-population,name:cd`. */
  sort?: string | readonly string[];
  section?: string;
  limit?: number;
  offset?: number;
  after?: string;
  select?: string | readonly string[];
  expand?: string | readonly string[];
  group?: string | readonly string[];
  having?: string;
  distinct?: boolean;
  count?: 'exact';
  subentities?: boolean;
  digest?: boolean;
  int64?: 'string';
}

export type Item = { id: ID } & Record<string, any>;
/** An item of `as: 'dictionaries'`: what was selected. */
export type Dictionary = Record<string, any>;

export interface Section<T = Item> {
  name: string;
  value: Value;
  indexTitle?: string;
  items: T[];
}

/**
 * A snapshot. With `as: 'ids'` the items are ids, with `as: 'dictionaries'` what was selected, without
 * ids.
 */
export interface Result<T = Item> {
  entity: string;
  token: string;
  sections: Section<T>[];
  count: number;
  /** With `count: 'exact'`: how many match without the window. */
  total?: number;
  /** The start of the next window; present exactly when this one is full. */
  next?: string;
  truncated?: boolean;
  digest?: string;
  included?: Record<string, Record<string, Item>>;
}

/** A snapshot of `as: 'count'`. */
export interface CountResult {
  entity: string;
  token: string;
  total: number;
}

/** A snapshot of any shape. */
export type AnyResult<T = any> = Result<T> | CountResult;

/** A result as it is shown: local edits that the server has not confirmed are laid over it. */
export type Shown<R> = R & { isPending: boolean };
export type LiveResult<T = Item> = Shown<Result<T>>;

export type Position = [section: number, item: number];

/** The difference between two results: of objects and ids by entries, of dictionaries whole. */
export type Diff<T = Item> = ItemsDiff<T> | ResetDiff<T> | CountDiff;

interface DiffHead {
  entity: string;
  from: string;
  to: string;
}

/** Of `as: 'count'`. */
export interface CountDiff extends DiffHead {
  total: number;
  reset?: undefined;
  items?: undefined;
}

/** Of `as: 'dictionaries'`: the new result whole, or, where a wait ran out, the tokens alone. */
export interface ResetDiff<T = Dictionary> extends DiffHead {
  reset?: true;
  count?: number;
  total?: number;
  sections?: Section<T>[];
  items?: undefined;
}

/** Of `as: 'objects'` and `as: 'ids'`. */
export interface ItemsDiff<T = Item> extends DiffHead {
  reset?: undefined;
  count: number;
  total?: number;
  next?: string;
  truncated?: boolean;
  digest?: string;
  sections: {
    deleted: { index: number; name: string; value: Value }[];
    inserted: { index: number; name: string; value: Value; indexTitle?: string }[];
  };
  items: {
    deleted: { from: Position; id: ID }[];
    inserted: ({ to: Position } & Inserted<T>)[];
    moved: ({ from: Position; to: Position; id: ID } & Changed<T>)[];
    updated: ({ from: Position; to: Position; id: ID } & Changed<T>)[];
  };
  included?: Record<string, Record<string, Item>>;
}

type Inserted<T> = T extends ID ? { id: ID; item?: undefined } : { item: T; id?: undefined };
type Changed<T> = T extends ID ? { changed?: undefined } : { changed: Partial<T> };

/** Why `current` changed, and how many bytes came for it. */
export interface ChangeInfo {
  /** `stored`: from the storage of `offline`, while the server has not been reached. */
  cause: 'stored' | 'snapshot' | 'diff' | 'edit' | 'settled' | 'rollback';
  bytes?: number;
}

export type State = 'connecting' | 'live' | 'offline' | 'failed' | 'closed';

/** A fault that a new snapshot has repaired, or a check that was cancelled. */
export interface Report {
  kind: 'digest-mismatch' | 'digest-unusable' | 'out-of-step';
  request: FetchRequest<Shape>;
  expected?: string;
  actual?: string;
  token?: string;
  detail?: string;
}

export interface Handlers<T = Item, R = Result<T>, D = Diff<T>> {
  /** Every change of the result: the one handler that drawing needs. */
  onChange?(current: Shown<R>, info: ChangeInfo): void;
  onSnapshot?(current: Shown<R>, snapshot: R, info: ChangeInfo): void;
  onDiff?(diff: D, current: Shown<R>, info: ChangeInfo): void;
  /** `error` belongs to the state: with `live` it is null. */
  onState?(state: State, error: LiveFetchError | null): void;
  /** The server refused the request; the state is `failed`. */
  onError?(error: LiveFetchError): void;
  /** Without it, reports go to the console. */
  onReport?(report: Report): void;
}

export interface Live<T = Item, R = Result<T>> {
  /** The request as it was given, without empty parameters. */
  readonly request: FetchRequest<Shape>;
  readonly state: State;
  readonly error: LiveFetchError | null;
  /** A new object whenever it changes; null before the first snapshot. */
  readonly current: Shown<R> | null;
  /** The sections of `current`; none before the first snapshot and of `as: 'count'`. */
  readonly sections: Section<T>[];
  /** Calls `listener` after every change of `current` or `state`; returns how to stop that. */
  subscribe(listener: () => void): () => void;
  close(): void;
}

export type Reference = GivenID | { temporaryID: string };
export type Change =
  | { insert: string; temporaryID?: string; values: Record<string, any> }
  | { update: string; values: Record<string, any> } & (One | Batch)
  | { delete: string } & (One | Batch);

/** A change of one object. */
interface One {
  id: Reference;
  ifMatch?: string;
  base?: Record<string, GivenValue>;
  where?: undefined;
}

/** A change of all objects for which a predicate is true. */
interface Batch {
  where: string;
  arguments?: readonly GivenValue[];
  variables?: Record<string, GivenValue>;
  id?: undefined;
}

export interface SaveOptions {
  /** false: live fetches wait for the server. */
  optimistic?: boolean;
  mergePolicy?: 'error' | 'overwrite' | 'storeWins' | 'objectWins';
  /** The same key with the same changes saves once, however often it is sent. */
  idempotencyKey?: string;
  prefer?: string;
  signal?: AbortSignal;
}

export interface Precondition {
  /** The values that the change starts from: refused with 409 where the store has others. */
  base?: Record<string, GivenValue>;
  /** The ETag that the object must have; null: no precondition. */
  ifMatch?: string | null;
}

export interface SaveAnswer {
  token: string;
  /** The ids of inserted objects by their temporary ids. */
  ids: Record<string, ID>;
  inserted: number;
  updated: number;
  deleted: number;
  /** With `prefer: 'return=representation'`: the saved objects by entity and id. */
  included?: Record<string, Record<string, Item>>;
}

export interface FetchOptions {
  signal?: AbortSignal;
}

export interface Client {
  fetch(request: FetchRequest<'count'>, options?: FetchOptions): Promise<CountResult>;
  fetch(request: FetchRequest<'ids'>, options?: FetchOptions): Promise<Result<ID>>;
  fetch<T = Dictionary>(request: FetchRequest<'dictionaries'>, options?: FetchOptions):
    Promise<Result<T>>;
  fetch<T = Item>(request: FetchRequest, options?: FetchOptions): Promise<Result<T>>;
  /** Of a request whose shape is not known when the program is compiled. */
  fetch(request: FetchRequest<Shape>, options?: FetchOptions): Promise<AnyResult>;
  live(request: FetchRequest<'count'>, handlers?: Handlers<never, CountResult, CountDiff>):
    Live<never, CountResult>;
  live(request: FetchRequest<'ids'>, handlers?: Handlers<ID, Result<ID>, ItemsDiff<ID>>): Live<ID>;
  live<T = Dictionary>(request: FetchRequest<'dictionaries'>,
    handlers?: Handlers<T, Result<T>, ResetDiff<T>>): Live<T>;
  live<T = Item>(request: FetchRequest, handlers?: Handlers<T, Result<T>, ItemsDiff<T>>): Live<T>;
  live(request: FetchRequest<Shape>, handlers?: Handlers<any, AnyResult>): Live<any, AnyResult>;
  object<T = Item>(entity: string, id: GivenID, options?: FetchOptions):
    Promise<{ object: T; etag: string | null }>;
  save(changes: readonly Change[], options?: SaveOptions): Promise<SaveAnswer>;
  insert(entity: string, values: Record<string, any>, options?: SaveOptions):
    Promise<SaveAnswer & { id: ID }>;
  update(entity: string, id: GivenID, values: Record<string, any>,
    options?: SaveOptions & Precondition): Promise<SaveAnswer>;
  delete(entity: string, id: GivenID, options?: SaveOptions & Precondition): Promise<SaveAnswer>;
  temporaryID(): string;
  model(): Promise<any>;
  about(): Promise<any>;
  /** Ends the live fetches; with `offline` it resolves when everything is stored, and later saves reject. */
  close(): Promise<void>;
}

type Token = string | null | undefined;

/** The storage of a client's snapshots and saves: values are JSON, a missing one is undefined. */
export interface Storage {
  /** Names the storage where several pages use it at the same time. */
  readonly name?: string;
  get(key: string): Promise<any>;
  set(key: string, value: any): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  keys(): Promise<string[]>;
}

export interface Options {
  /** A bearer token, or what gives one; nothing where there is none. */
  token?: string | null | (() => Token | Promise<Token>);
  headers?: Record<string, string>;
  /** false: long-polls instead of streams. */
  stream?: boolean;
  /** false: one connection for each live fetch. */
  multiplex?: boolean;
  /** false: the page has a stream of its own, not one with the other pages of the browser. */
  share?: boolean;
  /** Seconds after which a hidden page releases its connection, 30 by default; false: never. */
  hiddenAfter?: number | false;
  /** false: results are not checked against the server's digest. */
  digest?: boolean;
  /**
   * `string`, the default: every number is exact, see `Value`; null: all are numbers of JavaScript, the
   * nearest ones.
   */
  int64?: 'string' | null;
  fetch?: typeof fetch;
  /**
   * Saves are kept in this storage until the server has answered, and the newest results of live
   * fetches; `true`: in IndexedDB, one database for each server.
   */
  offline?: boolean | Storage;
  /** With `offline`: the server refused a save, of this page or of an earlier one. */
  onRefused?(error: LiveFetchError, save: { changes: Change[] }): void;
  /**
   * With `offline`: how many saves wait, why if the last attempt failed, and how many of them the storage did not
   * take: these are in memory only, and are lost when the page closes.
   */
  onQueue?(size: number, error: LiveFetchError | null, unstored: number): void;
}

/** A storage in the IndexedDB database of this name. */
export function indexedDBStorage(name: string): Storage;
/** A storage that ends with the program. */
export function memoryStorage(): Storage;
export function connect(url?: string, options?: Options): Client;
/** Applies a diff to the sections of the snapshot that it starts from; pure. */
export function apply<T>(sections: Section<T>[], diff: Diff<T>): Section<T>[];
/** Takes a whole result from one token to the next; pure. */
export function advance(result: CountResult, diff: CountDiff): CountResult;
export function advance<T>(result: Result<T>, diff: Diff<T>): Result<T>;
/** The digest of section values and ids that the server has too, as eight hex digits. */
export function digest(sections: Section<any>[]): string;
/** FNV-1a of 32 bits over the UTF-8 of a text. */
export function fnv1a(text: string, hash?: number): number;
export function idOf(item: Item | ID): ID;
export function isEmptyDiff(diff: Diff<any>): boolean;
/** True if an item has local values that the server has not confirmed yet. */
export function isPending(item: unknown): boolean;
/** Method, path and body of a fetch request. */
export function route(request: FetchRequest<Shape>):
  { method: 'GET' | 'POST'; path: string; body?: FetchRequest<Shape> };

/** A diff that does not belong to what it was applied to. */
export class OutOfStep extends Error {
  constructor(message?: string);
}
/** A refusal of the server, or a server that cannot be reached. */
export class LiveFetchError extends Error {
  constructor(problem: Record<string, any>, options?: { cause?: unknown });
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /**
   * Stable, in kebab-case; with status 0 `unreachable`, `not-an-answer`, `token-failed` or `failed`, of saves with
   * `offline` also `outcome-unknown`, `storage-damaged` and `client-closed`.
   */
  readonly code: string;
  /** The server's sentence; the message too. */
  readonly detail: string;
  /** The byte of a predicate at which it went wrong. */
  readonly offset?: number;
  readonly hint?: string;
  /** The server's problem object whole. */
  readonly problem: Record<string, any>;
  /** Seconds that the server asks to wait. */
  readonly retryAfter?: number;
  readonly errors: { change: number; property?: string; code: string; detail: string;
    stored?: Value; given?: Value }[];
  /** True if the same request may succeed later. */
  readonly isTransient: boolean;
}
