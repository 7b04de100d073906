# JIM behind GRAM: what a job manager of type `samgrid` calls, handed on to JIM's doors. Nothing is decided here.
#
# One Perl process serves many jobs: what it reads on stdin are its commands, what it writes to stdout is protocol.
# So no child gets either, and no method dies: a job whose poll died would hang for ever. docs/gram.md

# Before the package, or what the base class imports would land in it.
use Globus::GRAM::Error;
use Globus::GRAM::JobManager;

package Globus::GRAM::JobManager::samgrid;

use strict;
use warnings;
use Cwd ();
use JSON::PP ();
use POSIX ();
use Time::HiRes ();

our @ISA = ('Globus::GRAM::JobManager');

# A link leads here; JIM lies two levels above. What the link says stays true when JIM is upgraded.
my ($file) = grep { m{^/} } readlink(__FILE__) // '', Cwd::realpath(__FILE__);
my ($shell) = $file =~ m{^(.*)/gram/[^/]*$};
my $managed_file = '/etc/jim/site.toml';
my $managed_state = '/var/lib/jim';

# Seconds. A delivery that is cut short begins anew with the next poll, so it has the time that a large tar takes.
my %LIMIT = (submit => 120, poll => 30, deliver => 21_600, staging => 30, cancel => 60, wait => 60, suspend => 5);
my ($PENDING, $FAILED, $DONE, $SUSPENDED, $UNSUBMITTED) = (1, 4, 8, 16, 32);
my ($NO_RESOURCES, $EXECUTION_FAILED, $NOT_IMPLEMENTED, $BAD_REQUEST, $STDOUT, $STDERR, $NOT_SIGNALLED, $STAGE_IN)
    = (3, 17, 27, 48, 73, 74, 107, 135);
my ($SUSPEND, $RESUME, $PRIORITY) = (2, 3, 4);
my %SIGNAL = ($SUSPEND => 'suspend', $RESUME => 'resume');

# GRAM forgets what it has staged in, but the payload needs it: its names are kept beside the proxy, before any is there.
sub stage_in {
    my ($self) = @_;
    my $named = eval {
        my $job = $self->{JobDescription};
        my @pairs = map { ref $job->{$_} ? @{$job->{$_}} : () } qw(filestagein filestageinshared);
        open(my $out, '>>:raw', $job->jobdir() . '/jim-staged-in') or die;
        print {$out} map { JSON::PP->new->allow_nonref->encode($_->[1]) . "\n" } grep { ref && @$_ > 1 } @pairs;
        close($out) or die;
    };
    return Globus::GRAM::Error::STAGE_IN_FAILED() unless $named;
    # GRAM copies as the account, which owns JIM's own files, too.
    my $refusal = eval { refusal($self->{JobDescription}) } // failure($STAGE_IN, "the job manager samgrid failed: $@");
    return $refusal || $self->SUPER::stage_in();
}

# Why GRAM may not copy the files of a job, by JIM's word; empty if it may. What JIM cannot tell for a minute is refused.
sub refusal {
    my ($job) = @_;
    my $end = Time::HiRes::time() + $LIMIT{wait};
    while (1) {
        my $answer = run($LIMIT{staging}, 'jim-staging', described($job));
        return '' unless $?;
        my $said = lines($answer, 'ERROR');
        return $said if $said =~ /^GRAM_SCRIPT_ERROR:$BAD_REQUEST$/m;
        return $said || failure($NO_RESOURCES, 'JIM does not tell which files are its own')
            if $? >> 8 == 127 || Time::HiRes::time() > $end;
        Time::HiRes::sleep(1);
    }
}

sub submit {
    my ($self) = @_;
    my @missing;
    my $said = eval {
        my $job = $self->{JobDescription};
        return cut_short() unless length($job->uniqid() // '');
        return failure($BAD_REQUEST, 'executable: expected the name of one program') unless length($job->executable() // '');
        # One that is missing at the end would fail the job without a reason. The door says first whether it may be there.
        for my $stream ([stdout => $STDOUT], [stderr => $STDERR]) {
            my ($name, $number) = @$stream;
            my $file = $job->$name();
            next if !length($file // '') || -e $file;
            my ($place) = $file =~ m{^(.*/)};
            return failure($number, "$name: cannot write $file: $!") unless -w ($place // '.');
            push @missing, $file;
        }
        my $answer = run($LIMIT{submit}, 'jim-submit', described($job));
        return failure($NO_RESOURCES, "$shell/jim-submit cannot be started") if $? >> 8 == 127;
        # Whatever became of the door: a request that is known was handed in.
        my $number = $answer =~ /^GRAM_SCRIPT_(?:JOB_ID|ERROR):/m ? undef : known($job);
        return $number ? "GRAM_SCRIPT_JOB_ID:$number\nGRAM_SCRIPT_JOB_STATE:$PENDING\n" : lines($answer, 'JOB_ID')
            || failure($NO_RESOURCES, 'JIM did not answer in time; hand the job in again');
    } || failure($NO_RESOURCES, "the job manager samgrid failed: $@");
    if ($said !~ /^GRAM_SCRIPT_ERROR:/m) {
        for my $file (@missing) { open(my $made, '>>', $file) }
    }
    return $said;
}

sub poll {
    my ($self) = @_;
    my $said = eval { polled($self->{JobDescription}) } || return {};
    # After a failure GRAM sends nothing, and a failure while it sends would be told as success.
    return $said =~ /^GRAM_SCRIPT_ERROR:$EXECUTION_FAILED$/m ? $self->sent_before($said) : $said;
}

# What JIM has put in place is sent to the client. A job manager that polls was told of a failure before; any other one
# is told now.
sub stage_out {
    my ($self) = @_;
    my ($number, $said) = (eval { known($self->{JobDescription}) }, '');
    my $end = Time::HiRes::time() + $LIMIT{wait};
    until ($said = eval { final($number) }) {
        return failure($NO_RESOURCES, 'JIM does not tell how the grid job ended') if Time::HiRes::time() > $end;
        Time::HiRes::sleep(1);
    }
    return $self->sent_before($said) if $said =~ /^GRAM_SCRIPT_ERROR:/m;
    return $self->sent();
}

# GRAM sends what it finds, relative names in the job's own directory: two jobs may have named the same file.
sub sent {
    my ($self) = @_;
    my $job = $self->{JobDescription};
    return eval {
        # The client may have named other places for its streams meanwhile.
        my $copies = grep { ref $job->{$_} && @{$job->{$_}} } qw(filestageout filestreamout);
        return Globus::GRAM::Error::STAGE_OUT_FAILED() if $copies && refusal($job);
        local $job->{directory} = [$job->jobdir() . '/jim-results'];
        $self->SUPER::stage_out();
    } || Globus::GRAM::Error::STAGE_OUT_FAILED();
}

# The failure, after what the job wrote was sent. GRAM must not hear that it was: all sent is a job that is done.
sub sent_before {
    my ($self, $failure) = @_;
    local $self->{jim_is_quiet} = 1;
    my $sent = $self->sent();
    $failure =~ s/^(GRAM_SCRIPT_GT3_.*)/$1; what it wrote could not be sent/m if UNIVERSAL::isa($sent, 'Globus::GRAM::Error');
    return $failure;
}

# What the base class says while it sends is no part of such an answer.
sub respond {
    my ($self, $result) = @_;
    return $self->{jim_is_quiet} ? undef : $self->SUPER::respond($result);
}

sub cancel {
    my ($self) = @_;
    return eval {
        my $number = known($self->{JobDescription}) or return {};
        my $said = run($LIMIT{cancel}, 'jim-cancel', $number);
        return lines($said =~ s/^GRAM_SCRIPT_GT3.*\n//mr) if $said =~ /^GRAM_SCRIPT_ERROR:/m;
        # GRAM forgets a job of which it hears that it failed: first nothing of it may live.
        my $end = Time::HiRes::time() + $LIMIT{wait};
        while (Time::HiRes::time() < $end) {
            if (my $last = final($number)) {
                # One that was done already is left to the next poll, which delivers.
                return $last =~ /^GRAM_SCRIPT_JOB_STATE:$DONE$/m ? {} : "GRAM_SCRIPT_JOB_STATE:$FAILED\n";
            }
            Time::HiRes::sleep(0.1);
        }
        return {};    # the next polls will tell
    } || {};
}

sub signal {
    my ($self) = @_;
    return eval {
        my $job = $self->{JobDescription};
        my $number = known($job) or return {};
        my $kind = $job->signal() // '';
        my @words = $kind eq $PRIORITY ? ('priority', '--', $number, $job->signalarg() // '') : ($SIGNAL{$kind}, $number);
        return "GRAM_SCRIPT_ERROR:$NOT_IMPLEMENTED\n" unless $words[0];
        run($LIMIT{cancel}, 'jim', @words);
        return "GRAM_SCRIPT_ERROR:$NOT_SIGNALLED\n" if $?;
        # A job manager that does not poll hears of a suspension here or never.
        my $end = Time::HiRes::time() + $LIMIT{suspend};
        while ($kind eq $SUSPEND && answer($number) !~ /^GRAM_SCRIPT_JOB_STATE:$SUSPENDED$/m) {
            return {} if Time::HiRes::time() > $end;
            Time::HiRes::sleep(0.1);
        }
        return $kind eq $SUSPEND ? "GRAM_SCRIPT_JOB_STATE:$SUSPENDED\n" : {};
    } || {};
}

# An empty line in a value ends GRAM's command too early: what is left of it comes without a name. The rest of it would
# be taken for the next command, somebody else's, so it is read here, to the end that GRAM writes.
sub cut_short {
    eval {
        local $SIG{ALRM} = sub { die "no end\n" };
        alarm(5);
        my $last = '';
        while (defined(my $line = <ARGV>)) {
            last if $line eq "\n" && $last =~ /^\s*\};$/;
            $last = $line;
        }
    };
    alarm(0);
    return failure($BAD_REQUEST, 'uniqid: missing; no value of a description may hold an empty line');
}

sub polled {
    my ($job) = @_;
    my $number = known($job) or return {};
    if (final($number)) {
        return lines(run($LIMIT{deliver}, 'jim-deliver', $number, described($job))) || {};
    }
    my $said = heart_beats() && answer($number);
    # Too early to tell, or nobody at home: the door wakes the keeper.
    $said = run($LIMIT{poll}, 'jim-poll', $number) unless $said;
    return lines($said) || {};
}

# JIM's number of a job. At the end GRAM may have forgotten it, but never its own.
sub known {
    my ($job) = @_;
    my $number = $job->jobid() // '';
    return $number if $number =~ /^[1-9]\d{0,14}$/;
    my $name = 'request-' . unpack('H*', $job->uniqid() // return);
    # What is kept counts, and is read last: only then may another door's file be in the inbox.
    my ($left, $kept) = map { content(state() . "/$_/$name") } qw(inbox keys);
    for my $request (grep { length } $kept, $left) {
        return $1 if $request =~ /^\{"id": ([1-9]\d*),/;
    }
    return;
}

# The last answer of a job that has ended, else nothing.
sub final {
    my ($number) = @_;
    my $said = $number && answer($number);
    return $said && $said =~ /^GRAM_SCRIPT_(?:ERROR:|JOB_STATE:$DONE$)/m ? lines($said) : '';
}

sub answer {
    my ($number) = @_;
    return content(state() . "/answers/$number");
}

# A keeper that beat its heart less than 20 s ago, in this run of the machine.
sub heart_beats {
    my ($boot, $beat) = split ' ', content(state() . '/heartbeat') || return;
    my ($now_boot) = split ' ', content('/proc/sys/kernel/random/boot_id') || return;
    my ($uptime) = content('/proc/uptime') =~ /^(\d+)/ or return;
    return $beat =~ /^\d+$/ && $boot eq $now_boot && $uptime - $beat <= 20;
}

# As jim-poll has it.
sub state {
    return $ENV{JIM_STATE} if $ENV{JIM_STATE};
    if (-e $managed_file) {
        my $state = "$managed_state/.by-uid/$<";
        return -e $state ? $state : "$managed_state/" . getpwuid($<);
    }
    my $home = $ENV{XDG_STATE_HOME} // '';
    return $home =~ m{^/} ? "$home/jim" : ($ENV{HOME} || (getpwuid($<))[7]) . '/.local/state/jim';
}

# A file with the description, in a directory that ends with the job.
sub described {
    my ($job) = @_;
    my %told = map { $_ => $job->{$_} } grep { !/^_/ && ref($job->{$_}) eq 'ARRAY' } keys %$job;
    for my $name (qw(executable directory stdin stdout stderr)) {
        my $value = $job->$name();
        $told{$name} = [$value] if defined $value && !ref $value;
    }
    my @named = split(/\n/, content($job->jobdir() . '/jim-staged-in'));
    $told{jimstagedin} = [map { JSON::PP->new->allow_nonref->decode($_) } @named];
    my $file = $job->jobdir() . '/jim-description';
    open(my $out, '>:raw', $file) or die "cannot write $file: $!\n";
    print {$out} JSON::PP->new->canonical->encode(\%told);
    close($out) or die "cannot write $file: $!\n";
    return $file;
}

# LIMIT PROGRAM WORD...: what one of JIM's programs prints. Sets $?.
sub run {
    my ($limit, $program, @words) = @_;
    my $pid = open(my $out, '-|') // die "cannot start $program: $!\n";
    if (!$pid) {
        open(STDIN, '<', '/dev/null');
        open(STDERR, '>', '/dev/null');
        { no warnings; exec {"$shell/$program"} "$shell/$program", @words }
        POSIX::_exit(127);
    }
    my ($said, $end) = ('', Time::HiRes::time() + $limit);
    while (1) {
        my $left = $end - Time::HiRes::time();
        vec(my $ready = '', fileno($out), 1) = 1;
        if ($left <= 0 || length($said) > 60_000) { kill('KILL', $pid); last }
        my $count = select($ready, undef, undef, $left);
        next if $count < 0;
        last if $count > 0 && !sysread($out, $said, 65_536, length($said));
    }
    close($out);
    return $said;
}

# Only what is protocol may reach GRAM. What JIM has was handed in, so it is never unsubmitted.
sub lines {
    my ($said, $required) = @_;
    my @lines = $said =~ /^(GRAM_SCRIPT_(?:JOB_ID:\d+|JOB_STATE:\d+|ERROR:\d+|GT3_FAILURE_MESSAGE:[^\n]*))$/mg;
    s/^GRAM_SCRIPT_JOB_STATE:$UNSUBMITTED$/GRAM_SCRIPT_JOB_STATE:$PENDING/ for @lines;
    return '' if $required && !grep { /^GRAM_SCRIPT_(?:$required|ERROR):/ } @lines;
    return join('', map { "$_\n" } @lines);
}

sub failure {
    my ($number, $reason) = @_;
    $reason =~ s/[^[:print:]]+/ /g;
    return "GRAM_SCRIPT_GT3_FAILURE_MESSAGE:$reason\nGRAM_SCRIPT_ERROR:$number\n";
}

sub content {
    my ($file) = @_;
    open(my $in, '<:raw', $file) or return '';
    local $/;
    return <$in> // '';
}

1;
