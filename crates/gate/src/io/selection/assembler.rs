//! Assembler of classic BPF programs: instructions, and jumps to labels further on.
//!
//! Source: the kernel's Documentation/networking/filter.rst.

use libc::sock_filter;

/// A place in a program that comes later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Tests of the accumulator against a number.
#[derive(Clone, Copy)]
pub(super) enum Test {
    Equal = libc::BPF_JEQ as isize,
    AtLeast = libc::BPF_JGE as isize,
    Above = libc::BPF_JGT as isize,
}

/// Sizes of loads.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Byte = libc::BPF_B as isize,
    Half = libc::BPF_H as isize,
    Word = libc::BPF_W as isize,
}

/// A program that is being written.
#[derive(Default)]
pub(super) struct Assembler {
    code: Vec<sock_filter>,
    labels: usize,
    /// Jumps whose labels are not placed yet, by their place in the program.
    open: Vec<(usize, Label)>,
}

impl Assembler {
    pub(super) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// Places a label here: jumps to it go on with the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        let here = self.code.len();
        self.open.retain(|(jump, to)| {
            if *to == label {
                self.code[*jump].k = (here - jump - 1) as u32;
            }
            *to != label
        });
    }

    pub(super) fn statement(&mut self, code: u32, k: u32) {
        self.code.push(sock_filter { code: code as u16, jt: 0, jf: 0, k });
    }

    /// Loads from the frame at an offset.
    pub(super) fn load(&mut self, size: Size, at: u32) {
        self.statement(libc::BPF_LD | libc::BPF_ABS | size as u32, at);
    }

    /// Loads from the frame, X bytes behind an offset.
    pub(super) fn load_behind(&mut self, size: Size, at: u32) {
        self.statement(libc::BPF_LD | libc::BPF_IND | size as u32, at);
    }

    /// Keeps the accumulator in a word of the scratch memory.
    pub(super) fn keep(&mut self, word: u32) {
        self.statement(libc::BPF_ST, word);
    }

    /// Loads a word of the scratch memory.
    pub(super) fn kept(&mut self, word: u32) {
        self.statement(libc::BPF_LD | libc::BPF_MEM, word);
    }

    pub(super) fn operate(&mut self, operation: u32, k: u32) {
        self.statement(libc::BPF_ALU | libc::BPF_K | operation, k);
    }

    /// Copies the accumulator to X.
    pub(super) fn keep_in_x(&mut self) {
        self.statement(libc::BPF_MISC | libc::BPF_TAX, 0);
    }

    pub(super) fn result(&mut self, k: u32) {
        self.statement(libc::BPF_RET | libc::BPF_K, k);
    }

    pub(super) fn go_to(&mut self, label: Label) {
        self.open.push((self.code.len(), label));
        self.statement(libc::BPF_JMP | libc::BPF_JA, 0);
    }

    /// Goes to a label, any distance away, if the test succeeds.
    pub(super) fn go_if(&mut self, test: Test, k: u32, label: Label) {
        self.test(test, k, 0, 1);
        self.go_to(label);
    }

    /// Goes to a label, any distance away, unless the test succeeds.
    pub(super) fn go_unless(&mut self, test: Test, k: u32, label: Label) {
        self.test(test, k, 1, 0);
        self.go_to(label);
    }

    fn test(&mut self, test: Test, k: u32, jt: u8, jf: u8) {
        let code = (libc::BPF_JMP | libc::BPF_K | test as u32) as u16;
        self.code.push(sock_filter { code, jt, jf, k });
    }

    /// Instructions so far.
    pub(super) fn len(&self) -> usize {
        self.code.len()
    }

    /// Takes back everything behind the first `length` instructions. No label may be placed there.
    pub(super) fn cut(&mut self, length: usize) {
        self.code.truncate(length);
        self.open.retain(|(jump, _)| *jump < length);
    }

    /// The program.
    pub(super) fn finish(self) -> Vec<sock_filter> {
        debug_assert!(self.open.is_empty(), "a label was not placed");
        self.code
    }
}
